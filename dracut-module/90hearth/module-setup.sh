#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dracut module: puts everything into the image that a boot from a cached volume
# needs: dm-cache and every installed policy, the checker that lvm2 runs before it
# activates a cache, the programs that repair one, modprobe and LVM settings.
# dracut sources this file and calls the functions. It uses only features of dracut
# that 059 and later have in common.

# shellcheck disable=SC2154  # dracut sets kernel, moddir, host_devs and others

hearth_modinfo() {
    modinfo ${dracutsysrootdir:+-b "$dracutsysrootdir"} -k "$kernel" "$@" 2> /dev/null
}

# hearth_ours MODULE ALIAS: is the file that modprobe would load as MODULE hearth's?
hearth_ours() {
    hearth_modinfo -F alias "$1" | grep -qx "$2"
}

# Prints the installed policies, by depmod's index. If two modules have one name, the
# index has the one that modprobe prefers.
hearth_policies() {
    sed -nE 's/^([^:]*\/)?(dm-cache-[^:\/]+)\.ko[^:\/]*:.*/\2/p' \
        "${srcmods:-${dracutsysrootdir-}/lib/modules/$kernel}/modules.dep"
}

# Prints the checker that lvm2 is set up to run; nothing if it runs none.
hearth_checker() {
    local _value
    _value=$(LVM_SUPPRESS_FD_WARNINGS=1 lvm lvmconfig --type full global/cache_check_executable 2> /dev/null) || {
        echo cache_check
        return
    }
    _value=${_value#*=\"}
    echo "${_value%\"}"
}

hearth_fail() {
    dfatal "hearth: $1"
    exit 1
}

# Is only one of dm-cache and dm-cache-smq hearth's? Two of hearth's open a volume, and so do
# two of the kernel's own, but not one of each.
hearth_half() {
    hearth_ours dm-cache dm-hearth && ! hearth_ours dm-cache-smq dm-cache-heat
}

hearth_checker_missing() {
    [[ $1 ]] && ! find_binary "$1" > /dev/null
}

# Is everything there that an image must have?
hearth_complete() {
    hearth_modinfo dm-cache > /dev/null && ! hearth_half && ! hearth_checker_missing "$(hearth_checker)"
}

# called by dracut
check() {
    require_binaries dmsetup lvm modinfo || return 1

    if [[ $hostonly ]] || [[ $mount_needs ]]; then
        # Since 106 dracut keeps the devices that the administrator named in user_devs.
        local _devs=("${host_devs[@]}" "${user_devs[@]}")
        /usr/lib/hearth/hearth-on-cache "${_devs[@]}" > /dev/null && return 0
        # lvconvert may attach a cache to any volume later, and makes no new image then.
        /usr/lib/hearth/hearth-on-cache -l "${_devs[@]}" > /dev/null || return 255
        hearth_complete && return 0
        dwarn "hearth: a part is missing for kernel $kernel, and the image does without hearth. This machine boots from LVM, and would not from a volume with a cache; see hearth doctor"
        return 255
    fi

    # An image for any machine carries hearth, because an administrator has installed it.
    [[ $no_kernel == yes ]] || hearth_ours dm-cache dm-hearth && return 0
    dwarn "hearth: not built for kernel $kernel; caches get that kernel's own dm-cache"
    return 255
}

# called by dracut
depends() {
    echo dm lvm
    return 0
}

# called by dracut
installkernel() {
    local _policies

    hearth_modinfo dm-cache > /dev/null \
        || hearth_fail "kernel $kernel has no dm-cache, neither hearth's nor its own; build hearth for it (dkms install -m hearth -k $kernel) or install its module package"

    if ! hearth_ours dm-cache dm-hearth; then
        # The volume opens on that as well, because the metadata is the same.
        dwarn "hearth: not built for kernel $kernel; the image gets that kernel's own dm-cache"
    elif hearth_half; then
        hearth_fail "dm-cache of kernel $kernel is hearth's, but dm-cache-smq is not; install both (dkms install --force -m hearth -k $kernel)"
    fi

    mapfile -t _policies < <(hearth_policies)
    hostonly='' instmods -c dm-cache "${_policies[@]}" \
        || hearth_fail "dm-cache of kernel $kernel or a policy of it cannot be put into the image"
}

# called by dracut
install() {
    local _checker _file

    _checker=$(hearth_checker)
    if [[ $_checker ]]; then
        hearth_checker_missing "$_checker" \
            && hearth_fail "lvm2 checks a cache with $_checker (global/cache_check_executable), which is not there; install it (thin-provisioning-tools), or set cache_check_executable = \"\" in lvm.conf"
        inst_multiple "$_checker" \
            || hearth_fail "$_checker cannot be put into the image"
    fi
    # For the emergency shell, and for an image without lvm.conf. lvconvert --repair runs
    # hearth-cache-repair there as well, where lvm.conf names it.
    inst_multiple -o cache_check cache_dump cache_restore cache_repair hearth-metadata hearth-cache-repair

    inst_multiple -o /etc/lvm/profile/*.profile

    # Options and the like. dracut copies /etc/modprobe.d only into host-only images.
    for _file in "${dracutsysrootdir-}"/{etc,run,usr/lib,lib}/modprobe.d/*.conf; do
        grep -qsE '\bdm[-_](cache|hearth)' "$_file" || continue
        inst_simple "${_file#"${dracutsysrootdir-}"}"
    done

    if /usr/lib/hearth/hearth-on-cache -w "$(findmnt -n -v -o SOURCE --target "${dracutsysrootdir-}/boot")" > /dev/null; then
        dwarn "hearth: /boot is on a volume with a writeback cache: the boot loader reads the origin, which may not have the newest files. Move /boot to a volume of its own, or use writethrough (lvchange --cachemode writethrough)"
    fi

    for _file in hearth-degraded hearth-origin; do
        inst_script "/usr/lib/hearth/$_file" "/sbin/$_file" \
            || hearth_fail "/usr/lib/hearth/$_file is not there; install hearth again"
    done
    # For hearth-origin.
    inst_multiple cat dmesg sed sort
    inst_hook pre-trigger 10 "$moddir/hearth-answer.sh"
    inst_hook pre-pivot 60 "$moddir/hearth-forget.sh"
    inst_hook initqueue/timeout 60 "$moddir/hearth-timeout.sh"
    inst_hook emergency 60 "$moddir/hearth-emergency.sh"
    # dracut's three units for its shell. An image without systemd runs the emergency hook early
    # enough.
    for _file in emergency rescue dracut-emergency; do
        inst_simple "$moddir/hearth-emergency.conf" \
            "${systemdsystemunitdir:-/usr/lib/systemd/system}/$_file.service.d/hearth.conf"
    done
}
